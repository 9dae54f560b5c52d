// Opens the viewer on the OpenAPI document of the application that serves this page.
const page = document.documentElement;
const { docs, openapi } = page.dataset;
const darkness = matchMedia('(prefers-color-scheme: dark)');

function followDarkness() {
  page.classList.toggle('dark-mode', darkness.matches);
}

/** The document as this page shows it. */
async function readDocument() {
  const response = await fetch(openapi);
  if (!response.ok) throw new Error(`${openapi} returned ${response.status}`);
  const spec = await response.json();
  // requests go to the server of this page, whatever other address the application has
  const root = location.pathname.slice(0, location.pathname.lastIndexOf(docs));
  spec.servers = [{ url: root || '/' }];
  leaveOutRepetitions(spec.paths);
  leaveOutProblemBodies(spec);
  return spec;
}

/** HEAD repeats GET; a write in another format differs in nothing but the format of its response. */
function leaveOutRepetitions(paths) {
  const seen = new Set();
  for (const [path, methods] of Object.entries(paths)) {
    const plain = path.replace(/\.\w+$/, '');
    if (methods.get) delete methods.head;
    if (seen.has(plain)) for (const method of ['post', 'put', 'patch', 'delete']) delete methods[method];
    seen.add(plain);
  }
}

/** All problems have the same form: their codes and descriptions are enough here. */
function leaveOutProblemBodies(spec) {
  const before = referencedSchemas(spec);
  const operations = Object.values(spec.paths).flatMap((methods) => Object.values(methods));
  const responses = [spec.components?.responses, ...operations.map((operation) => operation.responses)];
  for (const response of responses.flatMap((those) => Object.values(those ?? {}))) {
    if (Object.keys(response.content ?? {}).join() === 'application/problem+json') delete response.content;
  }
  const schemas = spec.components?.schemas ?? {};
  // a schema can be used by another one that goes away
  for (let after = referencedSchemas(spec), count = -1; count !== before.size - after.size; after = referencedSchemas(spec)) {
    count = before.size - after.size;
    for (const name of before) if (!after.has(name)) delete schemas[name];
  }
}

function referencedSchemas(spec) {
  const found = JSON.stringify(spec).matchAll(/"#\/components\/schemas\/([^"/]+)"/g);
  return new Set([...found].map(([, name]) => name));
}

/** No lock is shown where no role is required, although a token may be sent there. */
const publicOperations = {
  wrapComponents: {
    OperationSummary:
      (Summary, { React }) =>
      ({ operationProps, ...others }) => {
        const security = operationProps.get('security');
        const isPublic = security?.some((wanted) => wanted.isEmpty());
        const shown = isPublic ? operationProps.set('security', security.clear()) : operationProps;
        return React.createElement(Summary, { ...others, operationProps: shown });
      },
  },
};

/** Unsuccessful responses and headers are closed at first, so that an operation fits the screen. */
const collapsedDetails = {
  wrapComponents: {
    responses:
      (Responses, { React }) =>
      (props) => {
        const isSuccess = (_, code) => code.startsWith('2');
        const open = props.responses.filter(isSuccess);
        const closed = props.responses.filterNot(isSuccess);
        if (open.isEmpty() || closed.isEmpty()) return React.createElement(Responses, props);
        const row = ([code, response]) =>
          React.createElement(
            'tr',
            { key: code },
            React.createElement('th', { scope: 'row' }, code),
            React.createElement('td', null, response.get('description')),
          );
        return React.createElement(
          'div',
          null,
          React.createElement(Responses, { ...props, responses: open }),
          React.createElement(
            'details',
            { className: 'other-responses' },
            React.createElement('summary', null, `Other responses: ${closed.keySeq().join(', ')}`),
            React.createElement('table', null, React.createElement('tbody', null, closed.entrySeq().map(row).toArray())),
          ),
        );
      },
    headers:
      (Headers, { React }) =>
      (props) =>
        React.createElement(
          'details',
          null,
          React.createElement('summary', null, 'Headers'),
          React.createElement(Headers, props),
        ),
  },
};

async function show() {
  const spec = await readDocument();
  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#viewer',
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [() => publicOperations, () => collapsedDetails],
    layout: 'BaseLayout',
    tryItOutEnabled: true,
    displayRequestDuration: true,
    showExtensions: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 3,
    // only in development, where a token is worth little
    persistAuthorization: 'development' in page.dataset,
    queryConfigEnabled: false,
    validatorUrl: null,
    onComplete: () => offerSampleUsers(ui),
  });
  labelInputs(document.querySelector('#viewer'));
}

/** The sample user that was chosen last is chosen again after a reload, with a new token. */
const chosenKey = `declarest sample user ${location.pathname}`;

function offerSampleUsers(ui) {
  const select = document.querySelector('#sample-user');
  if (!select) return;
  const state = document.querySelector('#sample-state');
  async function authorize() {
    state.textContent = '';
    // the viewer fails to forget a token that it does not have
    if (ui.authSelectors.authorized()?.get('token')) ui.authActions.logoutWithPersistOption(['token']);
    if (select.value === '') {
      localStorage.removeItem(chosenKey);
      return;
    }
    const response = await fetch(select.dataset.tokens + encodeURIComponent(select.value));
    if (!response.ok) {
      state.textContent = `The server returned ${response.status}.`;
      return;
    }
    ui.preauthorizeApiKey('token', await response.text());
    localStorage.setItem(chosenKey, select.value);
    state.textContent = 'Requests have a token of this user.';
  }
  select.addEventListener('change', authorize);
  const chosen = localStorage.getItem(chosenKey);
  if (chosen === null || ![...select.options].some(({ value }) => value === chosen)) return;
  select.value = chosen;
  authorize();
}

/** The viewer gives most of its fields no label. */
function labelInputs(viewer) {
  const label = () => {
    for (const field of viewer.querySelectorAll(
      'input:not([aria-label]), select:not([aria-label]), textarea:not([aria-label])',
    )) {
      if (field.labels?.length > 0) continue;
      const parameter = field.closest('tr[data-param-name]')?.dataset.paramName;
      const name = parameter ?? (field.closest('.opblock-section-request-body') ? 'Request body' : field.placeholder || 'Value');
      field.setAttribute('aria-label', name);
    }
  };
  new MutationObserver(label).observe(viewer, { childList: true, subtree: true });
  label();
}

followDarkness();
darkness.addEventListener('change', followDarkness);
show().catch((error) => {
  document.querySelector('#viewer .state').textContent = `The document cannot be shown: ${error.message}`;
});
