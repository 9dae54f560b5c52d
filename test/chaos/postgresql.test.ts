import { testRows } from './rows.ts';

testRows('postgresql');
