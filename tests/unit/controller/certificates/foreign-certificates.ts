import { readFile, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
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

/** Creates a CA with openssl, with further lines for its extensions. */
export async function foreignAuthority(t: TestContext, key: ForeignKey, extensions: string[] = []): Promise<KeyPair> {
  const directory = await opensslDirectory(t);
  await directory.configure([...AUTHORITY, ...extensions]);
  await directory.run(
    'req',
    ...directory.config,
    '-x509',
    '-extensions',
    'x',
    ...KEYS[key],
    '-keyout',
    'k',
    '-out',
    'c',
  );
  return { certificate: await directory.read('c'), privateKey: await directory.read('k') };
}

/** Creates a serving certificate of such a CA, valid for 90 days. */
export async function signedByForeign(
  t: TestContext,
  { authority, key, hosts }: { authority: KeyPair; key: ForeignKey; hosts: string[] },
): Promise<KeyPair> {
  const directory = await opensslDirectory(t);
  await directory.write({ 'ca.crt': authority.certificate, 'ca.key': authority.privateKey });
  await directory.configure([
    `subjectAltName = ${hosts.map((host) => `${isIP(host) ? 'IP' : 'DNS'}:${host}`).join(',')}`,
  ]);
  const issuing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-subj', '/CN=serving', '-days', '90'];
  await directory.run(
    'req',
    ...directory.config,
    '-x509',
    '-extensions',
    'x',
    ...KEYS[key],
    ...issuing,
    '-keyout',
    'k',
    '-out',
    'c',
  );
  return { certificate: await directory.read('c'), privateKey: await directory.read('k') };
}

/** Creates a serving certificate for `localhost` under an intermediate CA, in a form that other tools write. */
export async function foreignServing(t: TestContext, key: ForeignKey, form: KeyForm) {
  const directory = await opensslDirectory(t);
  const sign = async (name: string, issuer: string | undefined, extensions: string[]) => {
    await directory.configure(extensions);
    const issuing = issuer === undefined ? [] : ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`];
    const output = ['-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`];
    await directory.run('req', ...directory.config, '-x509', '-extensions', 'x', ...KEYS[key], ...issuing, ...output);
  };
  await sign('root', undefined, AUTHORITY);
  await sign('intermediate', 'root', AUTHORITY);
  await sign('serving', 'intermediate', ['subjectAltName = DNS:localhost', 'extendedKeyUsage = serverAuth']);
  const [root, intermediate, serving] = await Promise.all(
    ['root.crt', 'intermediate.crt', 'serving.crt'].map(directory.read),
  );
  return {
    root: root ?? '',
    pair: { certificate: `${serving}${intermediate}`, privateKey: await directory.run(...FORMS[form]('serving.key')) },
  };
}

async function opensslDirectory(t: TestContext) {
  const directory = await temporaryDirectory(t, 'openssl-');
  const file = (name: string) => path.join(directory, name);
  return {
    config: ['-config', 'openssl.cnf', '-nodes', '-days', '365'],
    write: async (files: Record<string, string>) => {
      for (const [name, text] of Object.entries(files)) await writeFile(file(name), text);
    },
    configure: (extensions: string[]) =>
      writeFile(
        file('openssl.cnf'),
        ['[req]', 'distinguished_name = n', 'prompt = no', '[n]', 'CN = foreign CA', '[x]', ...extensions, ''].join(
          '\n',
        ),
      ),
    run: (...args: string[]) => runCommand('openssl', args, { cwd: directory }),
    read: (name: string) => readFile(file(name), 'utf8'),
  };
}
