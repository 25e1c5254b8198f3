import { type JsonObject } from '../../../shared/model/message';

/**
 * An object of the envelope that is merged into each call of a request. Its text is made once and copied, so that merging
 * costs by bytes and not by keys: 2,500 keys over 2,500 calls took 90 ms as objects.
 */
export class SharedObject {
  readonly text: string;
  /** top-level keys, each with its text */
  #members: [key: string, text: string][] | undefined;

  constructor(private readonly value: JsonObject) {
    this.text = JSON.stringify(value);
  }

  /** Returns the object as JSON; the call's own keys replace shared ones, one level deep. */
  with(own: JsonObject | undefined): string {
    const ownKeys = own === undefined ? [] : Object.keys(own);
    if (own === undefined || ownKeys.length === 0) return this.text;
    const ownText = JSON.stringify(own);
    if (!ownKeys.some((key) => Object.hasOwn(this.value, key))) {
      return this.text === '{}' ? ownText : `${this.text.slice(0, -1)},${ownText.slice(1)}`;
    }
    let kept = '';
    for (const [key, text] of this.members) if (!Object.hasOwn(own, key)) kept += `${text},`;
    return `{${kept}${ownText.slice(1)}`;
  }

  private get members(): readonly [key: string, text: string][] {
    this.#members ??= Object.entries(this.value).map(([key, value]) => [
      key,
      `${JSON.stringify(key)}:${JSON.stringify(value)}`,
    ]);
    return this.#members;
  }
}
