// Adds to package-lock.json the optional packages of other platforms that the registry at hand does not have: npm
// leaves them out, and `npm ci` then refuses the lock file. Run it after each change of dependencies.
import { readFileSync, writeFileSync } from 'node:fs';

const systems = /(android|darwin|freebsd|win32|openharmony|linux|aix|netbsd|openbsd|sunos)/;
const processors = /-(arm64|x64|ia32|ppc64|riscv64|s390x|arm)/;

/** What a platform package runs on, told by its name, as the names of all such packages tell it. */
function platformOf(name) {
  const [, os] = systems.exec(name) ?? [];
  const [, cpu] = processors.exec(name) ?? [];
  const libc = name.includes('musl') ? 'musl' : name.includes('-gnu') ? 'glibc' : undefined;
  return { ...(cpu && { cpu: [cpu] }), ...(os && { os: [os] }), ...(libc && { libc: [libc] }) };
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
for (const { optionalDependencies = {}, dev } of Object.values({ ...lock.packages })) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    lock.packages[`node_modules/${name}`] ??= { version, ...platformOf(name), ...(dev && { dev }), optional: true };
  }
}
const byName = ([a], [b]) => (a < b ? -1 : 1);
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(byName));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
