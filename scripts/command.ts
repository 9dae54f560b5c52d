import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** The environment variable with the folder of a built package. `npm test` builds one, and tests start that, as users do. */
export const builtVariable = 'DECLAREST_BUILT_PACKAGE';

/** The folder of the package that `npm test` has built; undefined elsewhere. */
export const builtPackage: string | undefined = process.env[builtVariable];

/** The file of the command that runs the source. */
export const sourceCommand = join(root, 'bin', 'declarest.js');

/** The file of the command: in the built package, which starts in half the time, or in the sources if nothing is built. */
export const command = builtPackage ? join(builtPackage, 'bin', 'declarest.js') : sourceCommand;
