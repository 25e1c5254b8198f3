/**
 * The endpoint sent what no client can use. The message is a clause in words, without anything
 * secret.
 */
export class EndpointFault extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EndpointFault';
  }
}
