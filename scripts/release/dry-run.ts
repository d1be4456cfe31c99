import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { docsOf } from '../../shared/docs-site.ts';
import { PROGRAMS } from '../images/programs.ts';
import { archiveName } from '../krew-manifest.ts';
import { chart, helm } from '../testbed/helm.ts';
import { runCommand } from '../testbed/run-command.ts';
import { completeRelease, missingFiles } from './release-files.ts';

const root = path.join(import.meta.dirname, '../..');
const { version } = manifest;
const tag = `v${version}`;

/** Makes all files of a release that don't need other machines, and lists all that the workflow would publish. */
export async function dryRun(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await helm('package', chart, '--destination', directory);
  await packPlugin(directory);
  await completeRelease(directory);
  const missing = await missingFiles(directory);
  const changelog = await problemOfChangelog();
  console.log(`Release ${tag} would publish:
  images    ${PROGRAMS.map((program) => `ghcr.io/stoker-operator/${program}:${version}`).join('\n            ')}
  chart     oci://ghcr.io/stoker-operator/charts/stoker-operator:${version}
  npm       kubectl-stoker@${version}
  site      ${docsOf(version)}/
  on GitHub ${(await readdir(directory)).sort().join('\n            ')}
            checksums.txt.sigstore.json (the signature)
${missing.map((file) => `            ${file} (not made here)\n`).join('')}
The files are in ${path.relative(process.cwd(), directory)}. Images aren't built, and nothing is signed or published.`);
  if (changelog) console.log(`Before you push the tag: ${changelog}`);
}

/** Packs the plugin for this platform, and as an npm package. */
async function packPlugin(directory: string): Promise<void> {
  await runScript('scripts/build.ts', 'cli');
  await runScript('scripts/package-cli.ts');
  const archive = archiveName(`${process.platform}-${process.arch}`);
  await copyFile(path.join(root, 'dist/archives', archive), path.join(directory, archive));
  await runCommand('npm', ['pack', path.join(root, 'dist/kubectl-stoker'), '--pack-destination', directory]);
}

/** Returns the reason why the release has no notes, if there is one. */
const problemOfChangelog = (): Promise<string | undefined> =>
  runScript('scripts/release-notes.ts', tag).then(
    () => undefined,
    ({ stderr }: { stderr: string }) => stderr.trim(),
  );

const runScript = (script: string, ...args: string[]): Promise<string> =>
  runCommand(process.execPath, [path.join(root, script), ...args]);
