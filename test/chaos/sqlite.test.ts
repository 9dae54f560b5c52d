import { testRows } from './rows.ts';

testRows('sqlite');
