/** Options of `signToken`. */
export interface TokenOptions {
  /** The id of the user. */
  readonly sub: string | number;
  readonly roles?: readonly string[];
  /** Seconds; eight hours by default. */
  readonly expiresIn?: number;
  /** Further claims. They cannot replace those that Declarest sets. */
  readonly claims?: Readonly<Record<string, unknown>>;
}
