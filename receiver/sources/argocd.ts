import type { Delivery, DeliveryHeaders } from './delivery.ts';
import { extractRef } from './extract-ref.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

/**
 * A notification of Argo CD whose template sends the application: the ref is the application's annotation `git.ref`.
 * https://argo-cd.readthedocs.io/en/stable/operator-manual/notifications/services/webhook/
 */
export function readArgoCd(_headers: DeliveryHeaders, body: JsonObject): Delivery | undefined {
  return extractRef(fieldOf(body, 'app', 'metadata', 'annotations', 'git.ref'), 'argocd');
}
