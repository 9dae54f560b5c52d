// Writes the JSON Schema of the configuration to the file that the package ships, formatted like every other file.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jsonSchemaText } from '../src/declaration/json-schema.ts';

const root = join(import.meta.dirname, '..');
const file = join(root, 'schema', 'app-main.schema.json');
writeFileSync(file, jsonSchemaText());
const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
process.exitCode = spawnSync(process.execPath, [biome, 'format', '--write', file], { cwd: root, stdio: 'inherit' }).status ?? 1;
