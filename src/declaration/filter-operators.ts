/** The sort of a field, which decides about its operators: each operator lists the sorts that it suits. */
export type Filtering = 'ordered' | 'textual' | 'named' | 'boolean' | 'none';

/** The value of an operator in a query parameter, and the condition that is made from it. */
export type OperatorCondition =
  /** One value of the field; `negated` also finds rows without a value. */
  | { readonly operand: 'value'; readonly sign: '=' | '<' | '<=' | '>' | '>='; readonly negated?: true }
  /** Several values of the field, separated by commas. */
  | { readonly operand: 'list' }
  /** A part of a text, ignoring case; `before` and `after` say on which sides other text may be. */
  | { readonly operand: 'text'; readonly before: boolean; readonly after: boolean }
  /** Whether there is a value. */
  | { readonly operand: 'boolean' };

type OperatorTraits = OperatorCondition & {
  readonly suits: readonly Filtering[];
  /** The text about the field in the description of a parameter. */
  readonly meaning: string;
};

const ordered: readonly Filtering[] = ['ordered', 'textual'];
const listable: readonly Filtering[] = [...ordered, 'named'];
const comparable: readonly Filtering[] = [...listable, 'boolean'];
const textual: readonly Filtering[] = ['textual'];
const all: readonly Filtering[] = [...comparable, 'none'];

/** Every operator that compares a field with the value of a request, in the order of the documentation. */
export const operatorTraits = {
  eq: { operand: 'value', sign: '=', suits: comparable, meaning: 'is this' },
  ne: { operand: 'value', sign: '=', negated: true, suits: comparable, meaning: 'is not this' },
  lt: { operand: 'value', sign: '<', suits: ordered, meaning: 'is less than this' },
  lte: { operand: 'value', sign: '<=', suits: ordered, meaning: 'is this or less' },
  gt: { operand: 'value', sign: '>', suits: ordered, meaning: 'is more than this' },
  gte: { operand: 'value', sign: '>=', suits: ordered, meaning: 'is this or more' },
  in: {
    operand: 'list',
    suits: listable,
    meaning: 'is one of these, separated by commas; within a value, a comma or backslash has a backslash before it',
  },
  contains: { operand: 'text', before: true, after: true, suits: textual, meaning: 'contains this' },
  starts: { operand: 'text', before: false, after: true, suits: textual, meaning: 'begins with this' },
  ends: { operand: 'text', before: true, after: false, suits: textual, meaning: 'ends with this' },
  exists: { operand: 'boolean', suits: all, meaning: 'is there, or is not' },
} as const satisfies Readonly<Record<string, OperatorTraits>>;

export type FilterOperator = keyof typeof operatorTraits;

export const filterOperators = Object.keys(operatorTraits) as readonly FilterOperator[];

/** The operators that suit a sort of field. */
export function operatorsSuiting(filtering: Filtering): readonly FilterOperator[] {
  return filterOperators.filter((operator) => operatorTraits[operator].suits.includes(filtering));
}

/** The operator of a parameter without brackets: `lastName`. */
export const plainOperator = 'eq' satisfies FilterOperator;

/** The name of a query parameter: `lastName`, `lastName[contains]`. */
export function filterParameter(field: string, operator: FilterOperator): string {
  return operator === plainOperator ? field : `${field}[${operator}]`;
}
