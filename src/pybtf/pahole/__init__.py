"""`pybtf-pahole`: pybtf behind pahole's command line, for builds that call pahole to make BTF."""
