import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { KeyPair } from '../../../../controller/certificates/make-certificate.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Options of openssl(1) for keys of these kinds. */
const KEYS = {
  rsa: ['-newkey', 'rsa:2048'],
  p256: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  p384: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ed25519: ['-newkey', 'ed25519'],
};

export type ForeignKey = keyof typeof KEYS;

/** PEM forms of a private key: as cert-manager writes it, or as older tools do. */
const FORMS = {
  pkcs8: (key: string) => ['pkcs8', '-topk8', '-nocrypt', '-in', key],
  pkcs1: (key: string) => ['rsa', '-traditional', '-in', key],
  sec1: (key: string) => ['ec', '-in', key],
};

export type KeyForm = keyof typeof FORMS;

const AUTHORITY = ['basicConstraints = critical,CA:true', 'keyUsage = critical,keyCertSign,cRLSign'];

/** Creates a CA with openssl. */
export async function foreignAuthority(t: TestContext, key: ForeignKey): Promise<KeyPair> {
  const directory = await opensslDirectory(t);
  return await directory.sign('foreign CA', { key, extensions: AUTHORITY });
}

/** Creates a client certificate of such a CA. */
export async function clientOfForeign(t: TestContext, authority: KeyPair): Promise<KeyPair> {
  const directory = await opensslDirectory(t);
  await directory.write('ca', authority);
  const extensions = ['subjectAltName = DNS:api-server'];
  return await directory.sign('client', { key: 'p256', issuer: 'ca', extensions });
}

/** Creates a serving certificate for `localhost` under an intermediate CA, in a form that other tools write. */
export async function foreignServing(t: TestContext, key: ForeignKey, form: KeyForm) {
  const directory = await opensslDirectory(t);
  const root = await directory.sign('root', { key, extensions: AUTHORITY });
  const intermediate = await directory.sign('intermediate', { key, issuer: 'root', extensions: AUTHORITY });
  const extensions = ['subjectAltName = DNS:localhost', 'extendedKeyUsage = serverAuth'];
  const serving = await directory.sign('serving', { key, issuer: 'intermediate', extensions });
  const privateKey = await directory.run(...FORMS[form]('serving.key'));
  return { root: root.certificate, pair: { certificate: serving.certificate + intermediate.certificate, privateKey } };
}

interface Wish {
  key: ForeignKey;
  /** Name of the CA in the directory. If omitted, the certificate is self-signed. */
  issuer?: string;
  extensions: string[];
}

async function opensslDirectory(t: TestContext) {
  const directory = await temporaryDirectory(t, 'openssl-');
  const file = (name: string) => path.join(directory, name);
  const run = (...args: string[]) => runCommand('openssl', args, { cwd: directory });
  return {
    run,
    write: async (name: string, { certificate, privateKey }: KeyPair) => {
      await writeFile(file(`${name}.crt`), certificate);
      await writeFile(file(`${name}.key`), privateKey);
    },
    sign: async (name: string, { key, issuer, extensions }: Wish): Promise<KeyPair> => {
      const config = [
        '[req]',
        'distinguished_name = n',
        'prompt = no',
        '[n]',
        `CN = ${name}`,
        '[x]',
        ...extensions,
        '',
      ];
      await writeFile(file('openssl.cnf'), config.join('\n'));
      const issuing = issuer === undefined ? [] : ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`];
      const output = ['-nodes', '-days', '90', '-keyout', `${name}.key`, '-out', `${name}.crt`];
      await run('req', '-config', 'openssl.cnf', '-x509', '-extensions', 'x', ...KEYS[key], ...issuing, ...output);
      const [certificate, privateKey] = await Promise.all(
        ['crt', 'key'].map((end) => readFile(file(`${name}.${end}`), 'utf8')),
      );
      return { certificate: certificate ?? '', privateKey: privateKey ?? '' };
    },
  };
}
