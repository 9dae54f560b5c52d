import type { EntityMetadata } from '@mikro-orm/core';
import type { StandardSchema } from '../declaration/types.ts';

/** A rule of a model: a schema, or a schema that applies only to actions with one of the groups. */
export type Constraint = StandardSchema | { readonly groups: readonly string[]; readonly schema: StandardSchema };

/** `static constraints` of a model: rules for the whole model, or rules by property. */
export type Constraints =
  | Constraint
  | readonly Constraint[]
  | { readonly [property: string]: Constraint | readonly Constraint[] };

/** A constraint in the form in which it is checked. */
export interface Rule {
  /** Null: the rule is about the whole model. */
  readonly property: string | null;
  readonly schema: StandardSchema;
  /** Null: it always applies. */
  readonly groups: readonly string[] | null;
}

/** The rules of a model. Throws if a constraint is invalid. */
export function rulesOf({ class: type, className }: EntityMetadata): readonly Rule[] {
  const { constraints } = type as { constraints?: unknown };
  if (constraints === undefined || constraints === null) return [];
  if (isConstraint(constraints) || Array.isArray(constraints)) return rulesFrom(className, null, constraints);
  return Object.entries(constraints).flatMap(([property, given]) => rulesFrom(className, property, given));
}

function rulesFrom(model: string, property: string | null, given: unknown): Rule[] {
  return [given].flat().map((constraint) => {
    if (!isConstraint(constraint))
      throw new TypeError(
        `the constraints of ${property === null ? model : `${model}.${property}`} must be schemas, or { groups: ['publish'], schema } for rules that apply to some actions`,
      );
    return isSchema(constraint)
      ? { property, schema: constraint, groups: null }
      : { property, schema: constraint.schema, groups: constraint.groups };
  });
}

function isConstraint(value: unknown): value is Constraint {
  if (isSchema(value)) return true;
  const { groups, schema } = (value ?? {}) as { groups?: unknown; schema?: unknown };
  return isSchema(schema) && Array.isArray(groups) && groups.length > 0 && groups.every((group) => typeof group === 'string');
}

// arktype's schemas are functions
function isSchema(value: unknown): value is StandardSchema {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}
