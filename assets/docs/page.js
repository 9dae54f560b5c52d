// Opens the viewer on the document of the application that this page belongs to.
const page = document.documentElement;
const { docs, openapi } = page.dataset;
const darkness = matchMedia('(prefers-color-scheme: dark)');

function followDarkness() {
  page.classList.toggle('dark-mode', darkness.matches);
}

/** The document as it is tried out from here. */
async function readDocument() {
  const response = await fetch(openapi);
  if (!response.ok) throw new Error(`${openapi} was answered with ${response.status}`);
  const spec = await response.json();
  // requests go to where this page came from, whatever other address the application has
  const root = location.pathname.slice(0, location.pathname.lastIndexOf(docs));
  spec.servers = [{ url: root || '/' }];
  // HEAD answers what GET does, without the body
  for (const methods of Object.values(spec.paths)) if (methods.get) delete methods.head;
  return spec;
}

/** No lock stands where nobody has to say who they are. Whoever has said it is told there all the same. */
const openDoors = {
  wrapComponents: {
    OperationSummary:
      (Summary, { React }) =>
      ({ operationProps, ...others }) => {
        const security = operationProps.get('security');
        const isOpen = security?.some((wanted) => wanted.isEmpty());
        const shown = isOpen ? operationProps.set('security', security.clear()) : operationProps;
        return React.createElement(Summary, { ...others, operationProps: shown });
      },
  },
};

async function show() {
  const spec = await readDocument();
  SwaggerUIBundle({
    spec,
    dom_id: '#viewer',
    presets: [SwaggerUIBundle.presets.apis],
    plugins: [() => openDoors],
    layout: 'BaseLayout',
    tryItOutEnabled: true,
    displayRequestDuration: true,
    showExtensions: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 3,
    // a token is remembered by the browser only where it is worth little
    persistAuthorization: 'development' in page.dataset,
    queryConfigEnabled: false,
    validatorUrl: null,
  });
}

followDarkness();
darkness.addEventListener('change', followDarkness);
show().catch((error) => {
  document.querySelector('#viewer .state').textContent = `The document cannot be shown: ${error.message}`;
});
