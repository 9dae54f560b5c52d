import type { Api } from '../model/document.ts';
import { useApp } from './context.ts';
import { IdForm } from './id-form.tsx';

/** Opens one row of an API without a list. */
export function OpenById({ api, query }: { readonly api: Api; readonly query: string }) {
  const { go } = useApp();
  const open = (id: string) => go({ kind: 'entity', api: api.name, id, query });
  return <IdForm idKey={api.key} label="Id" action="Open" onId={open} />;
}
