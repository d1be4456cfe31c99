// Runs a script of this project with the Node version that the lock file pins, after making sure that the
// dependencies are installed. Plain JavaScript without dependencies, because the machine's own Node may be too old.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const pinnedNode = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');
const oldestNode = [22, 19];

const lockFile = join(root, 'package-lock.json');
const stampFile = join(root, 'node_modules', '.installed-from');
const lockHash = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
const modifiedAt = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** Installed by this script from the same lock file, or by hand after the lock file last changed. */
function dependenciesAreCurrent() {
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockHash) return true;
  return modifiedAt(join(root, 'node_modules', '.package-lock.json')) > modifiedAt(lockFile);
}

function installDependencies() {
  const started = Date.now();
  process.stderr.write('installing dependencies (npm ci) …\n');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) {
    process.stderr.write('npm ci failed, see above. It needs the npm registry, or a mirror in your .npmrc.\n');
    process.exit(1);
  }
  writeFileSync(stampFile, lockHash);
  process.stderr.write(`dependencies installed in ${((Date.now() - started) / 1000).toFixed(1)} s\n`);
}

function chooseNode() {
  if (existsSync(pinnedNode)) return pinnedNode;
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return process.execPath;
  process.stderr.write(
    `Node ${process.versions.node} is too old, and there is no pinned Node for ${process.platform}/${process.arch}: ` +
      `install Node ${oldestNode.join('.')} or newer.\n`,
  );
  return process.exit(1);
}

const [script, ...scriptArguments] = process.argv.slice(2);
if (!dependenciesAreCurrent()) installDependencies();

// npm starts scripts in the project, but paths in arguments of the plugin are those of its user.
const cwd = script === 'cli/main.ts' ? (process.env.INIT_CWD ?? root) : root;
const child = spawn(chooseNode(), [join(root, script), ...scriptArguments], { stdio: 'inherit', cwd });
// The terminal sends Ctrl-C to the whole group; this process only has to outlive the child and pass on its status.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
}
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
