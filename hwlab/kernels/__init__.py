"""How it is computed: the slow kernel that is obviously right, then the fast one."""
