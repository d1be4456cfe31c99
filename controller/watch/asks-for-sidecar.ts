import { POD_ANNOTATIONS } from '../../shared/api/names.ts';

/** What of a pod says whether it wants the sidecar. */
interface Annotated {
  metadata: { annotations?: Record<string, string> | undefined };
}

/** Tells whether a pod is to have the sidecar: the annotation counts in exactly this spelling, as in the API server. */
export function asksForSidecar({ metadata }: Annotated): boolean {
  return metadata.annotations?.[POD_ANNOTATIONS.inject] === 'true';
}
