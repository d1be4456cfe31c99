import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeAuthority, makeServingCertificate } from '../../controller/certificates/make-certificate.ts';

/** PEM files of a server: its certificate, its key, and the private CA that clients must trust. */
export interface Certificates {
  caFile: string;
  caKeyFile: string;
  certFile: string;
  keyFile: string;
}

/** Creates a private CA and a server certificate signed by it in a directory. Hosts are names or addresses. */
export async function createCertificates(directory: string, hosts = ['localhost', '127.0.0.1']): Promise<Certificates> {
  const now = Date.now();
  const authority = makeAuthority(now);
  const serving = makeServingCertificate(authority, hosts, now);
  const write = async (name: string, pem: string) => {
    const file = path.join(directory, name);
    await writeFile(file, pem, { mode: name.endsWith('.key') ? 0o600 : 0o644 });
    return file;
  };
  return {
    caFile: await write('ca.crt', authority.certificate),
    caKeyFile: await write('ca.key', authority.privateKey),
    certFile: await write('server.crt', serving.certificate),
    keyFile: await write('server.key', serving.privateKey),
  };
}

/** Reads the certificate and the key, as options of a server. */
export async function readPair({ certFile, keyFile }: Certificates) {
  return { cert: await readFile(certFile), key: await readFile(keyFile) };
}
