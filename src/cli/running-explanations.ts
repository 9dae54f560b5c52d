import type { Application } from '../application.ts';
import type { Explainer } from '../inspect/explainer.ts';
import type { Explanations } from '../openapi/explorer/explain.ts';

/** Explains requests to a running application as `declarest explain` does. The first request loads what is needed. */
export function runningExplanations(application: Application, env: NodeJS.ProcessEnv): Explanations {
  let opened: Promise<Explainer> | null = null;
  return {
    async explain(request) {
      opened ??= import('../inspect/running-explainer.ts').then(({ runningExplainer }) =>
        runningExplainer(application, { directory: application.directory, env }),
      );
      const explanation = await (await opened).explain(request);
      const { explanationLines } = await import('./text/explanation-text.ts');
      return explanationLines(explanation, { colour: false, columns: null }).join('\n');
    },
    close: async () => (await opened)?.close(),
  };
}
