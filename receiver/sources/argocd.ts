import * as v from 'valibot';
import { fieldOf, type JsonObject } from './json-object.ts';
import { asksFor, event, sender } from './read-event.ts';

const application = v.object({ metadata: v.object({ annotations: v.object({ 'git.ref': v.string() }) }) });

const readApplication = event(v.object({ app: application }), ({ app }) =>
  asksFor(app.metadata.annotations['git.ref']),
);

/**
 * Reads a notification of Argo CD whose template sends the application. The ref is the application's annotation `git.ref`.
 * https://argo-cd.readthedocs.io/en/stable/operator-manual/notifications/services/webhook/
 */
export const readArgoCd = sender('argocd', (_headers, body) =>
  fieldOf(body, 'app', 'metadata', 'annotations', 'git.ref') === undefined ? undefined : readApplication(body),
);

/** Checks whether a body has this shape, even without a ref, because not all applications have the annotation. */
export function isArgoCd(body: JsonObject): boolean {
  return v.is(v.object({ app: v.object({ metadata: v.object({}) }) }), body);
}
