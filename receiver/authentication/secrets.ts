import { isPossibleTarget, type Target } from '../annotations/target.ts';
import type { Secrets } from './authorize.ts';
import { parseSecrets } from './parse-secrets.ts';
import { type Peeked, SecretFile } from './secret-file.ts';

/** Where the secrets of one method come from: a file, or a value given as it is. */
export type SecretSource = { file: string } | { value: string };

export interface SecretSources {
  hmac?: SecretSource | undefined;
  bearer?: SecretSource | undefined;
}

/** Gives the secrets that are accepted for a resource, at once where nothing has to be read for them. */
export type ReadSecrets = (target: Target) => Secrets | Promise<Secrets>;

interface Method {
  peek(name: string): Peeked | undefined;
  global(): Promise<readonly string[]>;
  own(name: string): Promise<readonly string[] | undefined>;
}

/**
 * Reads secrets as they are now. A resource with a file of its own, `<namespace>.<name>` beside a configured file,
 * accepts what is in it and no global value of either method.
 */
export function createReadSecrets({ hmac, bearer }: SecretSources): ReadSecrets {
  const methods = { hmac: methodOf(hmac), bearer: methodOf(bearer) };
  return (target) => {
    const name = isPossibleTarget(target) ? `${target.namespace}.${target.name}` : '';
    const [peekedHmac, peekedBearer] = [peek(methods.hmac, name), peek(methods.bearer, name)];
    return peekedHmac && peekedBearer ? choose(peekedHmac, peekedBearer) : read(methods, name);
  };
}

function peek(method: Method | undefined, name: string): Peeked | undefined {
  return method ? method.peek(name) : { own: undefined, global: undefined };
}

async function read({ hmac, bearer }: Record<'hmac' | 'bearer', Method | undefined>, name: string): Promise<Secrets> {
  const readOne = async (method: Method | undefined): Promise<Peeked> => ({
    own: name === '' ? undefined : await method?.own(name),
    global: await method?.global(),
  });
  const [readHmac, readBearer] = await Promise.all([readOne(hmac), readOne(bearer)]);
  return choose(readHmac, readBearer);
}

function choose(hmac: Peeked, bearer: Peeked): Secrets {
  if (hmac.own ?? bearer.own) return { hmac: hmac.own ?? [], bearer: bearer.own ?? [] };
  return { hmac: hmac.global, bearer: bearer.global };
}

function methodOf(source: SecretSource | undefined): Method | undefined {
  if (!source) return undefined;
  if ('file' in source) return new SecretFile(source.file);
  const secrets = parseSecrets(source.value);
  const peeked = { own: undefined, global: secrets };
  return { peek: () => peeked, global: async () => secrets, own: async () => undefined };
}
