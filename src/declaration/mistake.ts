/**
 * A type that a wrong part of a declaration must also have, and cannot have: TypeScript prints it, and so shows what is wrong. It
 * is added to the given type and does not replace it, because the intersection of two texts would be `never`, without a message.
 */
export interface Mistake<Text extends string> {
  readonly mistake: Text;
}

/** The mistake with this message; unknown if there is no message. */
export type MistakeOf<Message extends string> = [Message] extends [never] ? unknown : Mistake<Message>;

/** `'a' | 'b'` → `'a, b'`. Evaluated for mistakes only, so that correct declarations cost nothing. */
export type Listed<Names> = [Names] extends [never] ? 'none' : Joined<Names, ''>;

type Joined<Names, Text extends string> = [Names] extends [never]
  ? Text
  : LastOf<Names> extends infer Last extends string
    ? Joined<Exclude<Names, Last>, Text extends '' ? Last : `${Last}, ${Text}`>
    : Text;

type LastOf<Names> = (Names extends unknown ? (give: () => Names) => void : never) extends (give: infer Give) => void
  ? Give extends () => infer Last
    ? Last
    : never
  : never;
