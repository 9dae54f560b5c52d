import { describe } from 'vitest';
import { describeCalls } from './calls-suite.ts';

describe('SQLite', () => describeCalls('sqlite'));
