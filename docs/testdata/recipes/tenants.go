package tenants

func example(ctx context.Context) error {
	acme, err1 := forTenant("acme", client)
	globex, err2 := forTenant("globex", client)
	err := errors.Join(err1, err2)
	for _, p := range []struct {
		of   Tenant
		name string
	}{{acme, "bridge"}, {globex, "bridge"}, {globex, "tunnel"}} {
		_, made := p.of.projects.Create(ctx, Project{Tenant: p.of.id, ProjectID: p.name})
		err = errors.Join(err, made)
	}
	mine, err1 := acme.All(ctx)
	theirs, err2 := globex.All(ctx)
	fmt.Println(mine, theirs)
	var mistake *entity.InputError
	fmt.Println(errors.As(db.Transact(ctx, acme.projects.Op().CheckExists(mine[0])), &mistake), mistake.Code)
	stored, err3 := client.Scan(ctx, &dynamodb.ScanInput{TableName: &table})
	for _, item := range stored.Items {
		pk, _ := item["pk"].(*types.AttributeValueMemberS)
		fmt.Println(strings.HasPrefix(pk.Value, "$app#v1#project#"))
	}
	document, err4 := policy()
	fmt.Println(strings.Contains(string(document), `"$app#v1#project#${aws:PrincipalTag/tenant}"`), strings.Contains(string(document), "dynamodb:Scan"))
	return errors.Join(err, err1, err2, err3, err4)
	// prints
	// [{{{}} acme bridge}] [{{{}} globex bridge} {{{}} globex tunnel}]
	// true EDD-9114
	// true
	// true
	// true
	// true false
}
