/**
 * What was odd about a response whose status could be read nevertheless. The status counts, the
 * connection is closed, and the attempt lists the kinds. An attempt of another version of Waypost
 * may have an unknown one.
 */
export const ODDITIES = [
  /** a `100 Continue` that nobody had asked for */
  'interim',
  /** a header that HTTP does not allow: a bare line feed, a folded line, a control character, … */
  'header_syntax',
  /** more headers than are read */
  'header_size',
  /** a wrong or doubled `Content-Length`, or one beside `Transfer-Encoding` */
  'content_length',
  /** the chunks of the body could not be read */
  'chunk_syntax',
  /** more chunk extensions or trailers than are read */
  'framing_size',
  /** the body broke off, or did not end in time */
  'body_cut',
  /** there were bytes behind the end of the response, or nobody had asked for them */
  'extra_bytes',
  /**
   * of a batch: its response claims to be JSON, or to be compressed, and could not be read as that
   */
  'body_unreadable',
] as const;
export type Oddity = (typeof ODDITIES)[number];
