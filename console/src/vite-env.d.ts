/** The version in package.json; the build writes it into the page. */
declare const __WAYPOST_VERSION__: string;
