import { CallFailure } from '../failure.ts';

/** The forms of a model's name in code, paths, tables and roles. */
export interface ModelNames {
  /** `BlogPost` */
  readonly type: string;
  /** `blog-post`, in paths and file names */
  readonly kebab: string;
  /** `blog_post`, as MikroORM names the table */
  readonly snake: string;
  /** `BLOG_POST`, in roles */
  readonly upper: string;
}

/** Names that the generated files import, or use as globals. */
const taken = ['Date', 'EntityManager', 'InferEntity', 'Migration', 'Promise', 'TestApplication', 'User', 'Vote', 'Voter'];

/** The names of a model that was given as `BlogPost`, `blogPost`, `blog-post` or `blog_post`. */
export function modelNames(given: string): ModelNames {
  const rule = 'letters and digits, such as Note or BlogPost, at most 40 characters';
  if (!/^[a-z][a-z0-9]*([-_ ][a-z][a-z0-9]*)*$/i.test(given) || given.length > 40)
    throw new CallFailure(`--model must be the name of a class (${rule}), not "${given}"`);
  const type = given.replace(/(?:^|[-_ ])([a-z])/gi, (_, first: string) => first.toUpperCase());
  if (taken.includes(type))
    throw new CallFailure(
      `--model cannot be ${type}: the generated files use this name already; choose another, such as ${other(type)}`,
    );
  const words = type.replace(/([a-z])([A-Z])/g, '$1 $2').split(' ');
  const joined = (separator: string) => words.join(separator).toLowerCase();
  return { type, kebab: joined('-'), snake: joined('_'), upper: joined('_').toUpperCase() };
}

function other(type: string): string {
  return type === 'User' ? 'Account' : `My${type}`;
}

/** npm installs no package into a package of the same name. */
const takenPackages = ['declarest', 'fastify', 'typescript'];

/** The package name of an application in a folder of this name. */
export function packageNameOf(folder: string): string {
  const name = folder
    .toLowerCase()
    .replace(/[^a-z0-9._~-]+/g, '-')
    .replace(/^[-._~]+|[-._~]+$/g, '');
  if (takenPackages.includes(name)) return `${name}-app`;
  // npm rejects this one
  return name === 'node_modules' ? 'app' : name.slice(0, 100) || 'app';
}

export function checkedPackageName(name: string): string {
  if (!/^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(name) || name.length > 214)
    throw new CallFailure(`--name must be a package name (lower-case letters, digits, ".", "_" and "-"), not "${name}"`);
  if (takenPackages.includes(name))
    throw new CallFailure(`--name cannot be ${name}: the application depends on the package of this name`);
  return name;
}
