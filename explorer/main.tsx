import { render } from 'preact';
import { type OpenApiDocument, readDocument } from './model/document.ts';
import { openSession } from './net/session.ts';
import { readSettings } from './settings.ts';
import { Explorer } from './ui/explorer.tsx';

async function start(root: HTMLElement): Promise<void> {
  const settings = readSettings();
  const response = await fetch(settings.openapi, { headers: { Accept: 'application/json' } });
  if (!response.ok) throw new Error(`the OpenAPI document at ${settings.openapi} has status ${response.status}`);
  const catalogue = readDocument((await response.json()) as OpenApiDocument, settings.mount);
  root.textContent = '';
  render(<Explorer settings={settings} catalogue={catalogue} session={openSession(catalogue.security)} />, root);
}

const root = document.getElementById('explorer');
if (root)
  start(root).catch((error: Error) => {
    root.textContent = `The explorer could not start: ${error.message}. Reload the page to try again.`;
  });
