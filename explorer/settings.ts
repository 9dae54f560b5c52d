/** The settings that the server writes into the tag `<meta name="declarest">` of the page. Everything else comes from the OpenAPI document. */
export interface Settings {
  /** The path of the OpenAPI document. */
  readonly openapi: string;
  /** The prefix of every path of the application: empty, or `/v1`. */
  readonly mount: string;
  /** The login page of the application. */
  readonly login: string | null;
  /** Lists the sample users: `[{ "name": "Rita", "token": "/explorer/~token/Rita" }]`, each with the path of a token as text. */
  readonly sampleUsers: string | null;
  readonly development: boolean;
  /** Explains the access decision for a request, given as `?method=GET&path=/api/person.json`, as text. */
  readonly explain: string | null;
}

const defaults: Settings = {
  openapi: '/openapi.json',
  mount: '',
  login: null,
  sampleUsers: null,
  development: false,
  explain: null,
};

export function readSettings(): Settings {
  const content = document.querySelector('meta[name="declarest"]')?.getAttribute('content');
  return content ? { ...defaults, ...(JSON.parse(content) as Partial<Settings>) } : defaults;
}
