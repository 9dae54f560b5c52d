import type { Listed, Mistake } from '../mistake.ts';

/** The roles that voters grant or deny, if their types have them: `static override roles = ['PERSON_SEE'] as const`. */
export type RolesOf<Voters extends readonly { readonly roles: readonly string[] }[]> = Voters extends readonly []
  ? string
  : Voters[number]['roles'][number];

type CheckedRole<Role, Known extends string> = Role extends string
  ? string extends Role
    ? unknown
    : Role extends Known | `ROLE_${string}`
      ? unknown
      : Mistake<`no voter judges the role '${Role}'; roles: ${Listed<Known>}, and those that begin with ROLE_`>
  : unknown;

type CheckedAction<Action, Known extends string> = Action extends { readonly roles: infer Roles }
  ? { readonly roles: { readonly [Method in keyof Roles]: CheckedRole<Roles[Method], Known> } }
  : unknown;

/** Checks that declarations require known roles only. */
export type WithRoles<Apis, Known extends string> = string extends Known
  ? unknown
  : {
      readonly [Key in keyof Apis]: {
        readonly [Field in keyof Apis[Key] as Field & ('base_role' | 'actions')]: Field extends 'base_role'
          ? CheckedRole<Apis[Key][Field], Known>
          : { readonly [Name in keyof Apis[Key][Field]]: CheckedAction<Apis[Key][Field][Name], Known> };
      };
    };
