import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from './run-command.ts';

/** PEM files of a server: its certificate, its key, and the private CA that clients must trust. */
export interface Certificates {
  caFile: string;
  certFile: string;
  keyFile: string;
}

/** Makes a private CA and a server certificate of it in a folder, with the `openssl` binary; hosts are names or IPv4 addresses. */
export async function createCertificates(folder: string, hosts = ['localhost', '127.0.0.1']): Promise<Certificates> {
  const openssl = (...args: string[]) => runCommand('openssl', args, { cwd: folder }).catch(explainMissing);
  const names = hosts.map((host) => `${/^[\d.]+$/.test(host) ? 'IP' : 'DNS'}:${host}`).join(',');
  await writeFile(path.join(folder, 'openssl.cnf'), configuration(names));
  // An RSA key would take twenty times as long.
  const create = ['req', '-config', 'openssl.cnf', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  await openssl(...create, '-x509', '-extensions', 'ca', '-days', '30', '-keyout', 'ca.key', '-out', 'ca.crt');
  await openssl(...create, '-subj', '/CN=testbed', '-keyout', 'server.key', '-out', 'server.csr');
  const sign = [
    '-CA',
    'ca.crt',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-extfile',
    'openssl.cnf',
    '-extensions',
    'server',
  ];
  await openssl('x509', '-req', '-in', 'server.csr', ...sign, '-days', '30', '-out', 'server.crt');
  const file = (name: string) => path.join(folder, name);
  return { caFile: file('ca.crt'), certFile: file('server.crt'), keyFile: file('server.key') };
}

function configuration(names: string): string {
  return `
[req]
distinguished_name = name
prompt = no
[name]
CN = testbed-ca
[ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:false
extendedKeyUsage = serverAuth
subjectAltName = ${names}
`;
}

function explainMissing(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOENT') throw error;
  throw new Error('The tests make certificates with the openssl binary, which is not on the PATH.', { cause: error });
}
