import type { ParameterLiteral } from '../vocabulary.ts';

interface Values {
  readonly string: string;
  readonly integer: number;
  readonly number: number;
  readonly boolean: boolean;
  readonly date: string;
  readonly datetime: Date;
  readonly uuid: string;
}

type ValueOf<Declared> = Declared extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : Declared extends { readonly type: infer Type extends keyof Values }
    ? Values[Type]
    : string;

type GivenValue<Declared> = Declared extends { readonly list: true } ? readonly ValueOf<Declared>[] : ValueOf<Declared>;

type RequiredOrDefault = { readonly required: true } | { readonly default: ParameterLiteral | readonly ParameterLiteral[] };

/** The names of parameters that always have a value. */
type Present<Declared> = {
  [Name in keyof Declared]: Declared[Name] extends RequiredOrDefault ? Name : never;
}[keyof Declared];

/**
 * The values of declared query parameters, as `request.parameters` has them.
 *
 * @example
 * const parameters = { season: { type: 'integer' } } as const;
 * type SeasonRequest = ApiRequest<ParametersOf<typeof parameters>>; // request.parameters.season: number | undefined
 */
export type ParametersOf<Declared> = {
  readonly [Name in Present<Declared>]: GivenValue<Declared[Name]>;
} & { readonly [Name in Exclude<keyof Declared, Present<Declared>>]?: GivenValue<Declared[Name]> };
