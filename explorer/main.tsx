import { render } from 'preact';
import { readSettings } from './settings.ts';

const settings = readSettings();

function App() {
  return (
    <main>
      <h1>Explorer</h1>
      <p>
        <a href={settings.openapi}>OpenAPI document</a>
      </p>
    </main>
  );
}

const root = document.getElementById('explorer');
if (root) {
  root.textContent = '';
  render(<App />, root);
}
