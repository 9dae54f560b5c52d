// Prints the packages that an application installs with Declarest: npm run dependencies:list. The policy is in CONTRIBUTING.md.
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licenses that run-time packages may have. */
export const allowedLicenses: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
];

/** Maximum number and total size of run-time packages, transitive ones included. */
export const most = { packages: 80, megabytes: 20 };

/** A package that is installed with Declarest. */
export interface RuntimePackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** Scripts that npm would run when the package is installed. */
  readonly installScripts: readonly string[];
  /** Null if the package is optional and not installed here. */
  readonly bytes: number | null;
}

export interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The packages of the lock file, by their folders: `node_modules/pg`. */
export type Locked = ReadonlyMap<string, LockedPackage>;

export function lockedPackages(root: string): Locked {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return new Map(Object.entries<LockedPackage>(packages).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** `node_modules/pg/node_modules/@types/pg` → `@types/pg` */
export function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** The packages that Declarest imports: its dependencies, its peers, and those of each database. */
export function directPackages(locked: Locked): string[] {
  const { dependencies, peerDependencies, peerDependenciesMeta } = locked.get('') as LockedPackage;
  const isNeeded = (name: string) => !peerDependenciesMeta?.[name]?.optional || name.startsWith('@mikro-orm/');
  return [...Object.keys(dependencies ?? {}), ...Object.keys(peerDependencies ?? {}).filter(isNeeded)].map(
    (name) => `node_modules/${name}`,
  );
}

/** The folders of a package's dependencies, resolved as by Node: in the nearest `node_modules`. */
export function neededBy(locked: Locked, folder: string): string[] {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = locked.get(folder) as LockedPackage;
  const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers].flatMap((name) => {
    for (let place = folder; ; place = place.slice(0, Math.max(place.lastIndexOf('/node_modules/'), 0))) {
      const found = join(place, 'node_modules', name);
      if (locked.has(found)) return [found];
      if (place === '') return [];
    }
  });
}

/** The folders of every package that users install, in the order of the lock file. */
export function runtimeFolders(locked: Locked): string[] {
  const found = new Set(directPackages(locked));
  // grows while it is read
  for (const folder of found) for (const needed of neededBy(locked, folder)) found.add(needed);
  return [...locked.keys()].filter((folder) => found.has(folder));
}

/** Every package that users install, as it is locked and installed here. */
export function runtimePackages(root: string): RuntimePackage[] {
  const locked = lockedPackages(root);
  const entries = runtimeFolders(locked).map((folder) => [folder, locked.get(folder) as LockedPackage] as const);
  return entries.map(([folder, { hasInstallScript = false, license, version }]) => {
    const installed = join(root, folder);
    const manifest = existsSync(installed) ? JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) : null;
    const scripts = ['preinstall', 'install', 'postinstall'].filter((script) => manifest?.scripts?.[script] !== undefined);
    // npm runs node-gyp for such a package even without a script
    if (existsSync(join(installed, 'binding.gyp'))) scripts.push('node-gyp');
    if (hasInstallScript && scripts.length === 0) scripts.push('install');
    return {
      name: nameOf(folder),
      version,
      license: manifest?.license ?? license ?? 'unknown',
      installScripts: scripts,
      bytes: manifest ? bytesIn(installed) : null,
    };
  });
}

/** The bytes of the files of a package, without nested packages. */
function bytesIn(folder: string): number {
  let bytes = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const stats = lstatSync(path);
    if (stats.isFile()) bytes += stats.size;
    else if (stats.isDirectory() && name !== 'node_modules') bytes += bytesIn(path);
  }
  return bytes;
}

export function megabytesOf(packages: readonly RuntimePackage[]): number {
  return packages.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) / 1e6;
}

if (import.meta.main) {
  const packages = runtimePackages(join(import.meta.dirname, '..'));
  for (const { bytes, installScripts, license, name, version } of packages) {
    const size = bytes === null ? 'not installed' : `${Math.ceil(bytes / 1000)} kB`;
    const scripts = installScripts.length > 0 ? `  runs ${installScripts.join(', ')}` : '';
    console.log(`${`${name} ${version}`.padEnd(48)}${license.padEnd(16)}${size.padStart(14)}${scripts}`);
  }
  const size = megabytesOf(packages).toFixed(1);
  console.log(`\n${packages.length} packages (at most ${most.packages}), ${size} MB (at most ${most.megabytes})`);
}
