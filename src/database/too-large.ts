/** What a statement mentions when it fails because its rows are too large. */
export const tooLarge = 'the response is too large';

/** The rows of a statement have more bytes than a response may have. The remaining rows are not read; the caller gets 413. */
export class TooLargeError extends Error {
  readonly limit: number;

  constructor(limit: number) {
    super(`the rows exceed ${limit} bytes`);
    this.limit = limit;
  }
}
