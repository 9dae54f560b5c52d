// The bill of materials of the package, in CycloneDX 1.5. It is generated from the lock file alone, so the same lock file
// gives the same bytes. `npm sbom` adds the time and a random number.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  directPackages,
  type Locked,
  type LockedPackage,
  lockedPackages,
  nameOf,
  neededBy,
  runtimeFolders,
} from './dependencies.ts';

/** The viewer of the docs page: the build copies it into the package, so users do not install it. */
const copied = ['node_modules/swagger-ui-dist'];

/** Every package that is installed with Declarest or is a part of it. */
export function sbomOf(root: string): object {
  const { description, license, name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const locked = lockedPackages(root);
  const shipped = [...runtimeFolders(locked), ...copied]
    .sort()
    .map((folder) => [folder, locked.get(folder) as LockedPackage] as const);
  const own = { 'bom-ref': `${name}@${version}`, type: 'library', name, version, description, ...licensed(license) };
  const direct = [...directPackages(locked), ...copied];
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { ...own, purl: purlOf(name, version) } },
    components: shipped.map(([folder, entry]) => componentOf(folder, entry)),
    dependencies: [
      { ref: own['bom-ref'], dependsOn: refsOf(locked, direct) },
      ...shipped.map(([folder, entry]) => ({
        ref: refOf(folder, entry),
        // the copied files need nothing else
        dependsOn: copied.includes(folder) ? [] : refsOf(locked, neededBy(locked, folder)),
      })),
    ],
  };
}

function componentOf(folder: string, entry: LockedPackage): object {
  const [alg, hash] = (entry.integrity ?? '').split('-', 2);
  const content = Buffer.from(hash ?? '', 'base64').toString('hex');
  return {
    'bom-ref': refOf(folder, entry),
    type: 'library',
    name: nameOf(folder),
    version: entry.version,
    purl: purlOf(nameOf(folder), entry.version),
    ...(alg === 'sha512' && { hashes: [{ alg: 'SHA-512', content }] }),
    ...licensed(entry.license),
  };
}

function licensed(license: string | undefined): object {
  return license === undefined ? {} : { licenses: [{ license: { id: license } }] };
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** The same version can be installed in two folders. */
function refOf(folder: string, { version }: LockedPackage): string {
  const isNested = folder.lastIndexOf('node_modules/') > 0;
  return `${nameOf(folder)}@${version}${isNested ? `|${folder}` : ''}`;
}

function refsOf(locked: Locked, folders: readonly string[]): string[] {
  return folders.map((folder) => refOf(folder, locked.get(folder) as LockedPackage)).sort();
}
