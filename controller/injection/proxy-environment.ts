const VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy'];

/**
 * The variables by which agents reach git hosts through the proxy of the controller's environment, in lower case, which
 * git reads for all of them. A proxy with a user and a password stays with the controller: pods can be read by people
 * who are not to know these.
 */
export function proxyEnvironment(environment: Record<string, string | undefined>): Record<string, string> {
  const found = VARIABLES.flatMap((name) => {
    const value = environment[name] || environment[name.toUpperCase()];
    return value ? [[name, value]] : [];
  });
  const isSecret = found.some(([, value]) => value?.includes('@'));
  return isSecret ? {} : Object.fromEntries(found);
}
