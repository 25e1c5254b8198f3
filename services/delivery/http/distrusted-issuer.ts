/** The certificate of the endpoint is of an authority that Waypost leaves out. */
export class DistrustedIssuerError extends Error {
  /** @param issuer name of the authority */
  constructor(issuer: string) {
    super(
      `the authority "${issuer}", which signed the certificate of the endpoint, must not be trusted`,
    );
    this.name = 'DistrustedIssuerError';
  }
}
