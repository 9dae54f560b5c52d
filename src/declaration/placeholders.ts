/** Replaces the `%env(…)%` placeholders of a string. If one is the whole string, the result has the type of its processor. */
export function resolvePlaceholders(text: string, env: NodeJS.ProcessEnv, fail: (message: string) => void): unknown {
  if (!text.includes('%')) return text;
  let failed = false;
  const failOnce = (message: string) => {
    failed = true;
    fail(message);
  };
  const whole = /^%env\(((?:(?!\)%)[\s\S])*)\)%$/.exec(text);
  if (whole) {
    const value = evaluate(whole[1] as string, env, failOnce);
    return failed ? unreadable : value;
  }
  const replaced = text.replace(/%%|%env\(([\s\S]*?)\)%|%env\(/g, (match, expression: string | undefined) => {
    if (match === '%%') return '%';
    if (expression === undefined) {
      failOnce('a placeholder is not closed; write %env(NAME)%, or %% for a percent sign');
      return '';
    }
    return String(evaluate(expression, env, failOnce) ?? '');
  });
  return failed ? unreadable : replaced;
}

/** Marks a value that could not be read. Its error has been reported, so later checks skip it. */
export const unreadable: unique symbol = Symbol('unreadable');

const grammar = 'write %env(NAME)%, %env(int:NAME)%, %env(bool:NAME)% or %env(default:value:NAME)%';

function evaluate(expression: string, env: NodeJS.ProcessEnv, fail: (message: string) => void): string | number | boolean | null {
  // `default` comes last and its value may contain colons: %env(default:sqlite:var/app.db:DATABASE_URL)%
  const parts = /^((?:(?:int|bool):)*)(?:default:([\s\S]*):)?([A-Za-z_][A-Za-z0-9_]*)$/.exec(expression);
  if (!parts) {
    const processor = /^(?:(?:int|bool):)*([^:]*):/.exec(expression)?.[1];
    const what = processor === undefined ? `"${expression}" is not the name of a variable` : `"${processor}" is not a processor`;
    fail(`the placeholder %env(${expression})% cannot be read: ${what}; ${grammar}`);
    return null;
  }
  const [, processors = '', fallback, name = ''] = parts;
  const misplaced = /(?:^|:)(int|bool)$/.exec(fallback ?? '');
  if (misplaced) {
    fail(
      `the placeholder %env(${expression})% has "${misplaced[1]}" after "default"; write %env(${misplaced[1]}:default:value:${name})%`,
    );
    return null;
  }
  const given = env[name];
  const useFallback = fallback !== undefined && (given === undefined || given === '');
  const value = useFallback ? fallback : given;
  if (value === undefined) {
    fail(`the environment variable ${name} is not set; set it, or write %env(default:value:${name})%`);
    return null;
  }
  if (useFallback && value === '') return null;
  if (value === '' && processors !== '') {
    fail(`the environment variable ${name} is empty; set it, or write %env(${processors}default:value:${name})%`);
    return null;
  }
  const what = useFallback ? `the default of ${name}` : `the environment variable ${name}`;
  let result: string | number | boolean | null = value;
  // the innermost processor is the last one
  for (const processor of processors.split(':').filter(Boolean).reverse())
    if (result !== null) result = convert(processor, String(result), what, fail);
  return result;
}

/** The value itself is never shown: it may be a secret. */
function convert(processor: string, value: string, what: string, fail: (message: string) => void): number | boolean | null {
  if (processor === 'int') {
    const number = Number(value);
    if (/^[+-]?\d+$/.test(value) && Number.isSafeInteger(number)) return number;
    fail(`${what} is not an integer`);
    return null;
  }
  if (/^(?:true|1|yes|on)$/i.test(value)) return true;
  if (/^(?:false|0|no|off)$/i.test(value)) return false;
  fail(`${what} is not a boolean; use true or false`);
  return null;
}
