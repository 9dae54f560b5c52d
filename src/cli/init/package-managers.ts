/** A text of the templates, and its replacement. */
export type Replacement = readonly [from: string, to: string];

interface PackageManager {
  /** `packageManager` in package.json, which Corepack needs; undefined for npm. */
  readonly version?: string;
  readonly install: readonly string[];
  readonly run: string;
  /** Runs the command of an installed package. */
  readonly exec: string;
  /** The templates are written for npm. The first match counts. */
  readonly replacements: readonly Replacement[];
  readonly files: Readonly<Record<string, string>>;
}

const enableCorepack: Replacement = [
  '      - uses: actions/setup-node@v4',
  '      - run: corepack enable\n      - uses: actions/setup-node@v4',
];

export const packageManagers = {
  npm: { install: ['npm', 'install'], run: 'npm run', exec: 'npx', replacements: [], files: {} },
  pnpm: {
    version: '12.18.0',
    install: ['pnpm', 'install'],
    run: 'pnpm run',
    exec: 'pnpm exec',
    replacements: [
      enableCorepack,
      ['RUN npm ci --omit=dev', 'RUN corepack enable && pnpm install --frozen-lockfile --prod'],
      ['npm ci', 'pnpm install --frozen-lockfile'],
      ['package-lock.json', 'pnpm-lock.yaml'],
      ['cache: npm', 'cache: pnpm'],
      ['npm ', 'pnpm '],
      ['npx ', 'pnpm exec '],
    ],
    files: {},
  },
  yarn: {
    version: '4.18.1',
    install: ['yarn', 'install'],
    run: 'yarn run',
    exec: 'yarn',
    replacements: [
      enableCorepack,
      ['RUN npm ci --omit=dev', 'RUN corepack enable && yarn workspaces focus --production'],
      ['npm ci', 'yarn install --immutable'],
      ['package.json package-lock.json ./', 'package.json yarn.lock .yarnrc.yml ./'],
      ['package-lock.json', 'yarn.lock'],
      ['cache: npm', 'cache: yarn'],
      ['npm ', 'yarn '],
      ['npx ', 'yarn '],
    ],
    files: { '.yarnrc.yml': 'nodeLinker: node-modules\n' },
  },
} satisfies Record<string, PackageManager>;

export type PackageManagerName = keyof typeof packageManagers;

export function packageManager(name: PackageManagerName): PackageManager {
  return packageManagers[name];
}

/** The package manager that started this process: `npm create`, `pnpm create` and `yarn create` set `npm_config_user_agent`. */
export function callingManager({ npm_config_user_agent: agent = '' }: NodeJS.ProcessEnv): {
  readonly name: PackageManagerName;
  readonly version?: string;
} {
  const [, name, version] = /^(npm|pnpm|yarn)\/(\d+\.\d+\.\d+)/.exec(agent) ?? [];
  return name === undefined || version === undefined ? { name: 'npm' } : { name: name as PackageManagerName, version };
}
