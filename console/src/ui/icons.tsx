/**
 * The icons of the navigation and of buttons: lines on a grid of 16 by 16, in the colour of the
 * text.
 */

const PATHS = {
  overview: 'M2 13.5h12M3.5 11V7M6.5 11V3M9.5 11V5.5M12.5 11V8.5',
  destinations: 'M2 8h8M7 5l3 3-3 3M10 2.5h3.5v11H10',
  sources: 'M14 8H6M9 5 6 8l3 3M6 2.5H2.5v11H6',
  audiences:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M1.5 13.5c0-5 9-5 9 0M10.5 7.5a2 2 0 1 ' +
    '0-.5-4M11.5 9.8c1.8.2 3 1.5 3 3.7',
  debugger:
    'M5 6a3 3 0 0 1 6 0v4a3 3 0 0 1-6 0zM2 5l3 1.5M14 5l-3 1.5M2 13l3-2M14 13l-3-2M1.5 9H5M11 9h3.5',
  deliveries: 'M2 3.5h12v9H2zM2 4l6 5 6-5',
  replays: 'M13.5 8a5.5 5.5 0 1 1-1.6-3.9M13.5 1.5v3h-3',
  notices: 'M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8zM6.5 14.3h3',
  deletions: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.7 7v4M9.3 7v4',
  audit: 'M3.5 1.5h6l3 3v10h-9zM6 7h4.5M6 9.5h4.5M6 12h3',
  tokens: 'M10.5 8.5a3.5 3.5 0 1 0-3-3.2L1.5 11v3H5v-2h2v-2h1.5zM11 4.5h.1',
  docs:
    'M8 4C6.5 2.8 4.3 2.5 2 2.8v9.4c2.3-.3 4.5 0 6 1.2 1.5-1.2 3.7-1.5 6-1.2V2.8C11.7 2.5 ' +
    '9.5 2.8 8 4zM8 4v9.4',
  light:
    'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 ' +
    '1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  dark: 'M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5z',
  auto: 'M2 2.5h12v8.5H2zM6 14h4M8 11v3',
  copy: 'M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.7 10.7 14 14',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  back: 'M9.5 3.5 5 8l4.5 4.5',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" className="icon">
      <path d={PATHS[name]} />
    </svg>
  );
}
