import { NavLink } from 'react-router';

interface Props {
  /** of the group, for screen readers */
  label: string;
  tabs: readonly { to: string; name: string }[];
}

/** The parts of a page. Each has its address, so that Back and links lead to it. */
export function Tabs({ label, tabs }: Props) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ to, name }) => (
        <NavLink key={to} to={to} end>
          {name}
        </NavLink>
      ))}
    </nav>
  );
}
