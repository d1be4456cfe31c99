import type { FaultKind } from '../plan.ts';
import { apiServer } from './api-server.ts';
import type { Breakage } from './breakage.ts';
import { gateways } from './gateways.ts';
import { git } from './git.ts';
import { objects } from './objects.ts';
import { programs } from './programs.ts';

/** All kinds of faults. */
export const breakages: Record<FaultKind, Breakage> = { ...programs, ...apiServer, ...git, ...gateways, ...objects };
