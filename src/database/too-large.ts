/** The rows of a statement have more bytes than a response may have. The rest of them is not read; the caller gets 413. */
export class TooLargeError extends Error {
  readonly limit: number;

  constructor(limit: number) {
    super(`the rows exceed ${limit} bytes`);
    this.limit = limit;
  }
}
