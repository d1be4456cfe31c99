/** The default of `status.observedGeneration` in the CRD, so that kstatus, and Flux with it, waits for the controller. */
export const UNOBSERVED = -1;

/** Checks whether a controller has processed a spec of the resource. */
export function isObserved(status: { observedGeneration?: number | undefined } | undefined): boolean {
  return (status?.observedGeneration ?? UNOBSERVED) !== UNOBSERVED;
}
