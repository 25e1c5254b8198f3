/** The language of the texts (BCP 47). Numbers and times are formatted for it. */
export const LOCALE = 'en';
