/**
 * What a wrong part of a declaration would have to be as well, and cannot be: compilers print it, and so say what is wrong.
 * It stands beside the type that was given and not in its place, because a text in place of another text would be `never`, and say nothing.
 */
export interface Mistake<Text extends string> {
  readonly mistake: Text;
}

/** A mistake, if there is one. */
export type Told<Trouble extends string> = [Trouble] extends [never] ? unknown : Mistake<Trouble>;

/** `'a' | 'b'` → `'a, b'`. Only mistakes are put into words, so that correct declarations cost nothing. */
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
