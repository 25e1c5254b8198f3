import { ActionIcon, Menu } from '@mantine/core';
import { type ReactNode } from 'react';
import { Icon } from './icons';

interface Props {
  /** for those who do not see the dots */
  label: string;
  width: number;
  /** items of the menu */
  children: ReactNode;
}

/** The actions that stand behind "⋯" in the header of a page. */
export function MoreMenu({ label, width, children }: Props) {
  return (
    <Menu position="bottom-end" width={width}>
      <Menu.Target>
        <ActionIcon variant="default" size="input-sm" aria-label={label}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
