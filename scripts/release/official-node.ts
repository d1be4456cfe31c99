import path from 'node:path';
import { type HashedFile, unpackArchive } from '../testbed/unpack-archive.ts';

/** Version of Node in the executables of a release. */
export const NODE_VERSION = '26.10.0';

/** SHA-256 of the archives, from https://nodejs.org/dist/v26.10.0/SHASUMS256.txt, by the platform. */
const HASHES: Record<string, string> = {
  'darwin-arm64': '751fdf7439f115d87ee2a8f3f18c065b6151852068e3e666ac60ac2996f75ac9',
  'darwin-x64': 'ebbe9ab9b58ad6bb54390d6e2c862c1afa7d4475fb7e8ae8146acde211bf70df',
  'linux-arm64': '423a41bff8e2a2fa15e702fefe2919ef95823b2378744daccb8439302534b44f',
  'linux-x64': 'cb5c9ce9c80d7b8821e3a258543c71b939138cf17c74d5cc44bbe85d6dbc5ad8',
};

/** Returns the archive that the Node project publishes for a platform such as `linux-x64`. */
export function officialNode(platform: string): HashedFile {
  const hash = HASHES[platform];
  if (!hash) throw new Error(`no hash of Node ${NODE_VERSION} is recorded for ${platform}; add it to HASHES`);
  return { url: `https://nodejs.org/dist/v${NODE_VERSION}/node-v${NODE_VERSION}-${platform}.tar.gz`, hash };
}

/** Downloads Node to a directory and returns the path of the program. Throws an error if its archive has another hash. */
export async function fetchNode(directory: string, archive: HashedFile): Promise<string> {
  const program = path.join(directory, 'official', 'node');
  await unpackArchive(['node'], () => program, archive);
  return program;
}
