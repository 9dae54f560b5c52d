// Others build their tools on TypeScript as it was a library: that is what they get for it.
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const around = createRequire(import.meta.resolve('@ts-morph/common'));
const url = pathToFileURL(around.resolve('./typescript.js')).href;

registerHooks({
  resolve: (name, context, next) =>
    name === 'typescript' ? { url, format: 'commonjs', shortCircuit: true } : next(name, context),
});
