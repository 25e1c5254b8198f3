import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/service/repo-root';
import { apiTypes, type Document } from './api-types';
import { openApi } from './openapi';

/** Runs as `npm run generate`. */
writeFileSync(join(ROOT, 'shared', 'api', 'operations.ts'), apiTypes(openApi() as Document));
